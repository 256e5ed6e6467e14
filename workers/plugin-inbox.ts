// The plugins' way to the use cases that put inputs into sessions.
import { queuePluginEvent, sendPluginMessage } from '../src/kernel/use-cases/plugin-input.ts';
import type { Service } from '../src/kernel/use-cases/service.ts';
import { hashInput, type PluginInbox } from '../src/plugins/plugin-inbox.ts';

/** Makes the inbox of a worker. */
export function createPluginInbox(service: Service): PluginInbox {
  return {
    queueSystemEvent(plugin, { sessionKey, text, key }) {
      const sha256 = hashInput({ sessionKey, text });
      return queuePluginEvent(service, { sessionKey, text, keyed: { plugin, key, sha256 } });
    },
    sendMessage: (plugin, message) => sendPluginMessage(service, plugin, message),
  };
}
