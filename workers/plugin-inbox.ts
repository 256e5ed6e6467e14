// The plugins' way to the use cases that put inputs into sessions.
import { queuePluginEvent, sendPluginMessage } from '../src/service/plugin-input.ts';
import type { Service } from '../src/service/service.ts';
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
