/** Vocero's own page. */

import { cleanAddress, readBoot } from "./boot.js";
import { mount } from "./client.js";
import { speak } from "./text.js";

const boot = readBoot();
cleanAddress();
speak(boot.catalog, boot.language);
mount(document, boot);
