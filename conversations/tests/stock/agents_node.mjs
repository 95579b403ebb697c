// The stock client in Node: `node agents_node.mjs URL SECRET`, commands on stdin, happenings on stdout.

import { createInterface } from 'node:readline';
import * as realtime from '@openai/agents-realtime';

import { hold } from './agents_talk.mjs';

const [url, secret] = process.argv.slice(2);
const obey = await hold(realtime, url, secret, (what) => console.log(JSON.stringify(what)));
for await (const line of createInterface({ input: process.stdin })) obey(JSON.parse(line));
process.exit(0);
