// What the features of the service carry out, for rigs that make no whole service.
import { FEATURES } from '../src/features.ts';
import { loadHooks } from '../workers/load-modules.ts';

export const { effects: EFFECTS, chat: CHAT } = await loadHooks(FEATURES);
