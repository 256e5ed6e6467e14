// Channels: chat platforms that people write on and are answered on. What they write is committed
// before it is acknowledged to the platform; what agents say is a row of the outbox for each
// message of the platform.
import type { Feature } from '../../kernel/features.ts';

export const channels: Feature = {
  name: 'channels',
  inRoles: [
    { roles: ['worker'], load: async () => (await import('./poll-accounts.ts')).openChannels },
    { roles: ['api'], load: async () => (await import('./accounts.ts')).loadWebhooks },
  ],
  routes: [
    () => import('./channel-routes.ts'),
    () => import('./pairing-routes.ts'),
    () => import('./receive-routes.ts'),
    () => import('./bindings-routes.ts'),
  ],
  api: () => import('./api-part.ts'),
  commands: [
    [() => import('./channel-commands.ts'), { channels: ['Run', 'the accounts of bots on chat platforms'] }],
    [() => import('./pairing-commands.ts'), { pairing: ['Run', 'people who ask to write to an agent'] }],
    [() => import('./bindings-commands.ts'), { bindings: ['Run', 'which agent gets the messages of which chats'] }],
  ],
  turns: async () => (await import('./live/in-turns.ts')).channelsInTurns,
  chat: async () => (await import('./pairing-words.ts')).CHAT_WORDS,
};
