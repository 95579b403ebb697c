// A stock client: @openai/agents-realtime as it is, in Node and in a page; `tell` hears what happens.

const TWENTY_MS = 960;

// A connected session, and what it can be told to do.
export async function hold(sdk, url, secret, tell) {
  const showMap = sdk.tool({
    name: 'show_map',
    description: 'Shows a place on the map of the screen.',
    parameters: {
      type: 'object',
      properties: { place: { type: 'string' } },
      required: ['place'],
      additionalProperties: false,
    },
    strict: true,
    execute: async (given) => {
      tell({ kind: 'tool', arguments: given });
      return `The map shows ${given.place}.`;
    },
  });
  const agent = new sdk.RealtimeAgent({ name: 'Page', instructions: 'Be brief.', tools: [showMap] });
  const transport = new sdk.OpenAIRealtimeWebSocket({ url });
  const session = new sdk.RealtimeSession(agent, { transport, tracingDisabled: true });
  session.on('audio', (event) => tell({ kind: 'audio', bytes: event.data.byteLength }));
  session.on('audio_interrupted', () => tell({ kind: 'interrupted' }));
  session.on('error', (problem) => tell({ kind: 'error', error: String(problem.error?.message ?? problem) }));
  session.on('history_updated', (history) => tell({ kind: 'history', said: history.filter(isMessage).map(said) }));
  transport.on('*', (frame) => tell({ kind: 'event', frame }));
  transport.on('connection_change', (status) => tell({ kind: status }));
  await session.connect({ apiKey: secret, url });
  return (command) => {
    switch (command.do) {
      case 'say':
        return session.sendMessage(command.text);
      case 'speak':
        return session.sendAudio(new ArrayBuffer((command.ms / 20) * TWENTY_MS));
      case 'interrupt':
        return session.interrupt();
    }
  };
}

function isMessage(item) {
  return item.type === 'message';
}

function said(item) {
  return { role: item.role, text: item.content.map((part) => part.text ?? part.transcript ?? '').join('') };
}
