// Batches in OpenAI's form, as scenarios of keyed-scenarios.ts. An upload is not JSON, so its keys
// are tested in test/features/openai/files.test.ts.
import { randomUUID } from 'node:crypto';
import { count, type Ground, type KeyedScenario } from './keyed-ground.ts';

const LINE = JSON.stringify({
  custom_id: 'a',
  method: 'POST',
  url: '/v1/chat/completions',
  body: { messages: [{ role: 'user', content: 'one' }] },
});

/** The id of an uploaded file with one line. */
async function uploaded(ground: Ground, line = LINE): Promise<string> {
  const id = randomUUID();
  await ground.rows(
    `with file as (insert into holdfast.client_files (id, filename, purpose, bytes, created_by, completed_at, expires_at, owner)
      values ($1, 'lines', 'batch', 1, 'admin', now(), now() + interval '1 day', $3))
     insert into holdfast.client_file_parts (file_id, n, content) values ($1, 1, convert_to($2, 'utf8'))`,
    [id, line, ground.owner ?? null],
  );
  return id;
}

const bodyOf = (fileId: string) => ({
  input_file_id: `file-${fileId.replaceAll('-', '')}`,
  endpoint: '/v1/chat/completions',
  completion_window: '24h',
});

const submit = (name: string, line: string): KeyedScenario => ({
  name,
  route: '/openai/v1/batches',
  async prepare(ground) {
    const fileId = await uploaded(ground, line);
    return {
      path: '/openai/v1/batches',
      body: bodyOf(fileId),
      status: 200,
      effects: () => count(ground, 'holdfast.client_batches where input_file_id = $1', [fileId]),
    };
  },
});

export const KEYED_FILES: KeyedScenario[] = [
  submit('a batch of a file', LINE),
  submit('a batch of a file with a fault', '{'),
  {
    name: 'the end of a batch of a file',
    route: '/openai/v1/batches/{clientBatchId}/cancel',
    async prepare(ground) {
      const fileId = await uploaded(ground);
      const { body } = await ground.post('/openai/v1/batches', bodyOf(fileId));
      return {
        path: `/openai/v1/batches/${body.id}/cancel`,
        body: {},
        status: 200,
        effects: () =>
          count(
            ground,
            `holdfast.batches b join holdfast.client_batches c on c.id = b.id where c.input_file_id = $1 and b.status in ('cancelling', 'ended')`,
            [fileId],
          ),
      };
    },
  },
];
