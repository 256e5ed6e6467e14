// The files of messages that no turn has answered yet.
import { literalQuery } from '../../../database/literal-query.ts';

export const readAwaitedFiles = literalQuery({
  name: 'read-awaited-files',
  purpose: 'Read the paths of the files that messages have which wait, or which an open turn answers.',
  text: `select file ->> 'path' as path from (
  select i.body from holdfast.inbox i where i.status = 'waiting'
  union all select i.body from holdfast.inbox i where i.status = 'delayed'
  union all select i.body from holdfast.turns t join holdfast.inbox i on i.turn_id = t.id where t.ended_at is null
) as awaited cross join lateral json_array_elements(awaited.body -> 'media') as file where file ->> 'path' is not null`,
  answer: (rows: { path: string }[]) => rows.map(({ path }) => path),
});
