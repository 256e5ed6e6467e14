// What is open to tokens, as lists: a new route, type of event or field is closed until someone
// adds it here, too.
import { expect, test } from 'vitest';
import { ROUTES } from '../../../scripts/all-routes.ts';
import { EVENT_TYPES } from '../../../src/contract/events.ts';
import { showEvent } from '../../../src/contract/token-views.ts';

test('these routes are for tokens, and no other (G32)', () => {
  const open = ROUTES.flatMap(({ token, method, path }) =>
    token === undefined ? [] : [`${token.may}: ${method} ${path}`],
  );
  expect(open.toSorted()).toEqual([
    'read: GET /v1/events',
    'read: GET /v1/messages',
    'read: GET /v1/messages/{id}',
    'read: GET /v1/sessions/{key}',
    'read: GET /v1/turns/{id}',
    'read: GET /v1/turns/{id}/events',
    'send: POST /v1/sessions/{key}/messages',
  ]);
});

test('of each event, a token sees these fields and no other, and of an error its code (G32)', () => {
  const names =
    'messageId seq kind disposition status messageIds attempt code dueInMs reply costMicros model call text usage input name from to';
  const data = {
    ...Object.fromEntries(names.split(' ').map((name) => [name, `the ${name}`])),
    error: { code: 'failed', message: 'a secret', provider: 'a secret' },
  };
  const shown = EVENT_TYPES.flatMap((type) => {
    const event = showEvent({ type, data });
    return event === null ? [] : [[type, Object.keys(event.data).join(' ')]];
  });
  expect(Object.fromEntries(shown)).toEqual({
    'message.accepted': 'messageId seq',
    'message.settled': 'messageId status',
    'turn.started': 'messageIds',
    'turn.parked': '',
    'turn.resumed': '',
    'turn.ended': 'status reply error',
    'model.delta': 'call text',
    'steer.injected': 'messageIds',
    'session.reset': '',
  });
  expect(showEvent({ type: 'turn.ended', data })?.data['error']).toEqual({ code: 'failed' });
  expect(showEvent({ type: 'turn.ended', data: { ...data, error: null } })?.data['error']).toBeNull();
});
