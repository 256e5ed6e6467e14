// The canvas of a session, as it is shown.
import { viewQuery } from '../../database/literal-query.ts';

interface CanvasRow {
  title: string | null;
  html: string | null;
  bytes: number | null;
  turnId: string | null;
  updatedAt: Date | null;
}

/** The canvas of a session; fields are null without one. Null: there is no such session. */
export const readCanvas = viewQuery({
  name: 'read-canvas',
  purpose: 'Read the canvas of a session.',
  text: `select c.title, case when $withHtml::boolean then c.html end as html, octet_length(c.html) as bytes, c.turn_id as "turnId", c.updated_at as "updatedAt"
from holdfast.sessions s left join holdfast.canvases c on c.session_id = s.id and c.html is not null where s.key = $sessionKey`,
  values: (sessionKey: string, withHtml: boolean) => ({ sessionKey, withHtml }),
  answer: ([row]: CanvasRow[]) => row ?? null,
});
