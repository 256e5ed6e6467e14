import { table } from './table.ts';

export const { read: readEvents, count: countEvents } = table(
  'events',
  'id',
  {
    id: 'int',
    sessionId: 'text?',
    turnId: 'text?',
    type: 'text',
    data: 'json',
    createdAt: 'time',
    text: 'text?',
    code: 'text?',
    model: 'text?',
  },
  { computed: { text: "data ->> 'text'", code: "data ->> 'code'", model: "data ->> 'model'" } },
);
