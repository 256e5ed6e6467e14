// Goal: after a compaction, a session's requests have its summary and the kept entries, after a
// restore the whole history, and nothing of it is lost. Method: a conversation through a running
// service that is asked to compact it, and the requests that its model server received.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { textOf } from './rig/received-request.ts';
import { useService } from './rig/use-service.ts';

const SUMMARY = '[Conversation summary]';
const RULES = '# Agents\n\n## Red Lines\nNever delete a row.\n';

const holder = useService({
  config: {
    agents: { defaults: { contextTokens: 20_000, compaction: { reserveTokens: 4000, keepRecentTokens: 2000 } } },
  },
  files: { 'AGENTS.md': RULES },
});

/** Words that fill this many tokens, preceded by a name. */
function words(name: string, tokens: number): string {
  return `${name} ${'lorem ipsum '.repeat(tokens / 3)}[[reply: ok]]`;
}

interface Compaction {
  id: string;
  status: string;
}

describe('a compacted session', () => {
  test('is sent its summary before the kept entries, and the rules of the workspace once', async () => {
    const { service } = holder;
    const session = service.newSession();
    for (const name of ['alpha', 'beta', 'gamma', 'delta']) await service.say(session, words(name, 2000));
    const answer = await service.api.ask('POST', `/v1/sessions/${session}/compact`, {}, { prefer: 'wait=20' });
    expect(answer).toMatchObject({ status: 200, body: { compaction: { status: 'completed' } } });

    const next = (await service.say(session, 'go on')).request;
    expect(textOf(next.messages[0]?.content ?? [])).toContain(SUMMARY);
    expect(JSON.stringify(next.messages)).not.toContain('alpha lorem');
    expect(next.prompt).toMatch(/^System: \[[^\]]+\] \[Post-compaction context refresh\]\n/);
    expect(next.prompt).toContain('System: Never delete a row.');
    const later = (await service.say(session, 'and on')).request;
    expect(later.prompt).toBe('and on');

    const { body } = await service.api.ask('GET', `/v1/sessions/${session}/compactions`);
    const [compaction] = body.items as Compaction[];
    const restored = await service.api.ask('POST', `/v1/sessions/${session}/compactions/${compaction?.id}/restore`, {});
    expect(restored.status).toBe(200);
    const whole = (await service.say(session, 'as before')).request;
    expect(JSON.stringify(whole.messages)).not.toContain(SUMMARY);
    expect(whole.messages.map(({ content }) => textOf(content)).join('\n')).toContain(words('alpha', 2000));
  });

  test('because it is full first writes a memory note', async () => {
    const { service } = holder;
    const session = service.newSession();
    // The model executes text in double angle brackets when it is asked for the note.
    await service.say(session, `<<tool: memory_append {"text": "The gate is blue."}>> ${words('turn0', 2000)}`);
    for (let n = 1; n <= 8; n += 1) await service.say(session, words(`turn${n}`, 2000));
    const { request } = await service.say(session, 'the last');
    expect(textOf(request.messages[0]?.content ?? [])).toContain(SUMMARY);
    expect(request.prompt.endsWith('the last')).toBe(true);
    const memories = readdirSync(join(service.workspaceDir, 'memory'));
    expect(memories).toEqual([expect.stringMatching(/^\d{4}-\d\d-\d\d\.md$/)]);
    expect(readFileSync(join(service.workspaceDir, 'memory', memories[0] ?? ''), 'utf8')).toContain(
      'The gate is blue.',
    );
  });
});
