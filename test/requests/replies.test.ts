// Goal: silence is silence, and a token that slipped into a reply is not shown. Method: replies
// that the model server is told to give, through a running service.
import { describe, expect, test } from 'vitest';
import { useService } from './rig/use-service.ts';

const holder = useService();

describe('a reply', () => {
  test.each(['NO_REPLY', ' NO_REPLY ', 'no_reply', 'NO_REPLY.', '**NO_REPLY**', '{"action":"NO_REPLY"}'])(
    '%j is silence',
    async (reply) => {
      const { service } = holder;
      const { message } = await service.say(service.newSession(), `[[reply: ${reply}]]`);
      expect(message).toMatchObject({ status: 'silent', reply: null });
    },
  );

  test.each([
    ['Done. NO_REPLY', 'Done.'],
    ['Done.**NO_REPLY', 'Done.'],
    ['NO_REPLYThe user', 'The user'],
    ['NO_REPLY because I said so', 'NO_REPLY because I said so'],

    ['The token is NO_REPLY, I think', 'The token is NO_REPLY, I think'],
  ])('%j is sent as %j', async (reply, sent) => {
    const { service } = holder;
    const { message } = await service.say(service.newSession(), `[[reply: ${reply}]]`);
    expect(message).toMatchObject({ status: 'answered', reply: sent });
  });

  test('loses its reply tag, and keeps its words', async () => {
    const { service } = holder;
    const { message } = await service.say(
      service.newSession(),
      '[[reply_to_current]] Two  blanks, [[ reply_to: 7 ]] and a tag.',
    );
    expect(message.reply).toBe('You said: Two  blanks, and a tag.');
  });
});
