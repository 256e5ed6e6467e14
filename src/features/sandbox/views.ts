// What the processes that run commands say about their sandbox.
import type { z } from 'zod';
import type { sandboxView } from '../../contract/sandbox.ts';
import { viewQuery } from '../../database/literal-query.ts';
import { WORKER_LOST_MS } from '../../kernel/rules/why.ts';

type Items = z.output<typeof sandboxView>['items'];

export const readSandboxes = viewQuery({
  name: 'list-sandboxes',
  purpose: 'Read what the commands of the living processes run in.',
  text: `select w.id as "workerId", w.name, w.host, w.sandbox ->> 'runtime' as runtime, w.sandbox ->> 'status' as status,
  w.sandbox ->> 'reason' as reason, w.sandbox ->> 'checkedAt' as "checkedAt"
from holdfast.workers w
where w.sandbox is not null and w.lost_at is null and w.seen_at > clock_timestamp() - ${WORKER_LOST_MS} * interval '1 millisecond'
order by w.id limit 1000`,
  values: () => [],
  answer: (rows: Items) => rows,
});
