// Fills the place of an operation, such as `GET /v1/turns/{id}`, with the fields of a request.
import type { AnswerForm, ApiCall } from './transport.ts';

/** Fields that the path names go there, `body` is the body, all others are the query. Throws `TypeError` when a name of the path is missing. */
export function callOf(place: string, input: object): ApiCall {
  const [method = '', template = '', answer = 'json'] = place.split(' ');
  const { body, ...fields } = input as Record<string, unknown>;
  const path = template.replaceAll(/\{(\w+)\}/g, (_whole, name: string) => {
    const value = fields[name];
    delete fields[name];
    const text = typeof value === 'string' || typeof value === 'number' ? String(value) : '';
    // A URL has no such parts: they would be another path.
    if (['', '.', '..'].includes(text)) {
      throw new TypeError(`${place}: ${name} is ${JSON.stringify(value)}; pass an id, a key, a name or a number`);
    }
    return encodeURIComponent(text);
  });
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(fields)) {
    if (value === undefined) continue;
    if (Array.isArray(value)) query.set(name, value.join(','));
    else if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') {
      query.set(name, String(value));
    } else throw new TypeError(`${place}: ${name} is ${typeof value}; pass a string, a number, a boolean or a list`);
  }
  const search = query.toString();
  return {
    method,
    path: search === '' ? path : `${path}?${search}`,
    // The emitted places name no other form.
    answer: answer as AnswerForm,
    ...(body === undefined ? {} : { body }),
  };
}
