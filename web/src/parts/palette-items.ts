// The items of the command palette: screens, the buttons of the page, recently opened objects, and
// search results of the service.
import { api } from '../api.ts';
import { beginningOf } from '../format/long-text.ts';
import { hitHref, markedPieces } from '../format/search-hit.ts';
import { recentItems } from './recent.ts';

export interface PaletteItem {
  /** Unique among those that are shown. */
  id: string;
  group:
    | 'Recent'
    | 'Screen'
    | 'Action'
    | 'Session'
    | 'Turn'
    | 'Message'
    | 'Delivery'
    | 'Batch'
    | 'Cron'
    | 'Agent'
    | 'Words';
  name: string;
  /** More about it, for people. */
  note?: string;
  /** Its target, or its action. */
  to: string | (() => void);
}

/** How many of each kind are asked for and shown. */
const FOUND_MAX = 5;
/** Batches, crons and agents have no search: this many of the newest are searched. */
const SEARCHED_MAX = 200;
/** Of the place with the words. */
const SHOWN_CHARS = 100;
const UUID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i;
/** The last digits of an id, as all screens show ids. */
const ID_END = /^[\da-f]{6,12}$/i;

/** The screens. */
export function screenItems(screens: readonly { to: string; name: string }[]): PaletteItem[] {
  return screens.map(({ to, name }) => ({ id: `screen ${to}`, group: 'Screen', name, to }));
}

export function recentPaletteItems(): PaletteItem[] {
  return recentItems().map(({ href, name }) => ({ id: `recent ${href}`, group: 'Recent', name, to: href }));
}

/**
 * The buttons of the page that can be pressed now. So the palette has what the screen has, and
 * nothing that the person may not do. Of several with the same text, none is offered: it would not
 * say what it is about.
 */
export function actionItems(): PaletteItem[] {
  const buttons = [...document.querySelectorAll<HTMLButtonElement>('main button, header.top .bar button')];
  const named = buttons.flatMap((button) => {
    const name = (button.ariaLabel ?? button.textContent).trim();
    return button.disabled || name.length < 2 || button.dataset['palette'] !== undefined ? [] : [{ name, button }];
  });
  const counts = Map.groupBy(named, ({ name }) => name);
  return named
    .filter(({ name }) => counts.get(name)?.length === 1)
    .map(({ name, button }) => ({ id: `action ${name}`, group: 'Action', name, to: () => button.click() }));
}

/**
 * The service's matches for an id, a key or a part of a name. If one kind cannot be read, the
 * others are still shown.
 */
export async function foundItems(text: string, signal: AbortSignal): Promise<PaletteItem[]> {
  const kinds = [sessionItems, turnItems, messageItems, deliveryItems, batchItems, cronItems, agentItems, wordItems];
  const found = await Promise.allSettled(kinds.map((itemsOf) => itemsOf(text, { signal })));
  signal.throwIfAborted();
  if (found.every(({ status }) => status === 'rejected')) throw (found[0] as PromiseRejectedResult).reason;
  return found.flatMap((each) => (each.status === 'fulfilled' ? each.value : []));
}

interface Options {
  signal: AbortSignal;
}

/** A thing of the service: its group, its id or key, what it is called, and more about it. */
const thing = (
  group: Exclude<PaletteItem['group'], 'Recent' | 'Screen' | 'Action'>,
  id: string,
  to: string,
  note: string,
  name = `${group.toLowerCase()} ${id.slice(-6)}`,
): PaletteItem => ({ id: `${group} ${id}`, group, name, note, to });

const sessionPath = (key: string): string => `/sessions/${encodeURIComponent(key)}`;

async function sessionItems(q: string, options: Options): Promise<PaletteItem[]> {
  const { items } = await api.listSessions({ q, limit: FOUND_MAX }, options);
  return items.map(({ key, title, status }) => thing('Session', key, sessionPath(key), `${status}, ${key}`, title));
}

async function turnItems(q: string, options: Options): Promise<PaletteItem[]> {
  const { items } = await api.listTurns({ q, steps: 'none', limit: FOUND_MAX }, options);
  return items.map(({ id, title, sessionTitle, status }) =>
    thing('Turn', id, `/turns/${id}`, `${status}, ${sessionTitle}`, title),
  );
}

/**
 * A message has no screen: it leads to its turn, or to its session while no turn has claimed it.
 */
async function messageItems(q: string, options: Options): Promise<PaletteItem[]> {
  const ids = await idsOf(q, options);
  if (ids.length === 0) return [];
  const { items } = await api.listMessages({ ids, limit: FOUND_MAX }, options);
  return items.map(({ id, turnId, sessionKey, status }) =>
    thing('Message', id, turnId === null ? sessionPath(sessionKey) : `/turns/${turnId}`, `${status}, ${sessionKey}`),
  );
}

async function idsOf(q: string, options: Options): Promise<string[]> {
  if (!ID_END.test(q)) return UUID.test(q) ? [q] : [];
  const { items } = await api.findIds({ endsWith: q, kinds: ['message'] }, options);
  return items.map(({ id }) => id);
}

/** Deliveries whose id, or its end, is sought. */
async function deliveryItems(q: string, options: Options): Promise<PaletteItem[]> {
  if (!ID_END.test(q) && !UUID.test(q)) return [];
  const { items } = await api.listDeliveries({ q, limit: FOUND_MAX }, options);
  return items
    .filter(({ id }) => id.endsWith(q.toLowerCase()))
    .map(({ id, status, sessionKey }) => thing('Delivery', id, `/deliveries?open=${id}`, `${status}, ${sessionKey}`));
}

/** What was said with these words, and the way to all of it. */
async function wordItems(q: string, options: Options): Promise<PaletteItem[]> {
  const { items } = await api.search({ q, limit: FOUND_MAX }, options);
  if (items.length === 0) return [];
  const hits = items.map((hit): PaletteItem => {
    const pieces = markedPieces(hit.snippet);
    const first = pieces.findIndex(({ isHit }) => isHit);
    // A few words before the first hit, and the rest of the place.
    const before = (pieces[first - 1]?.text ?? '').split(/\s+/).slice(-4).join(' ');
    const rest = pieces.slice(Math.max(0, first)).map(({ text }) => text);
    const words = beginningOf(`${before}${rest.join('')}`, SHOWN_CHARS);
    return thing('Words', hit.id, hitHref(hit), `${hit.kind}, ${hit.sessionKey}`, words);
  });
  return [...hits, { id: 'words', group: 'Words', name: `All with ${q}`, to: `/search?q=${encodeURIComponent(q)}` }];
}

/** Those of a list without a search whose id or name has the words. */
const fitting = <Item extends { id: string; name: string | null }>(q: string, items: readonly Item[]): Item[] =>
  items.filter(({ id, name }) => `${id} ${name ?? ''}`.toLowerCase().includes(q.toLowerCase())).slice(0, FOUND_MAX);

async function batchItems(q: string, options: Options): Promise<PaletteItem[]> {
  const { items } = await api.listBatches({ limit: SEARCHED_MAX }, options);
  return fitting(q, items).map(({ id, name, status }) => thing('Batch', id, `/batches/${id}`, status, name ?? id));
}

async function cronItems(q: string, options: Options): Promise<PaletteItem[]> {
  const { items } = await api.listCrons({ limit: SEARCHED_MAX }, options);
  return fitting(q, items).map(({ id, name, agentId }) => thing('Cron', id, `/crons/${id}`, agentId, name ?? id));
}

async function agentItems(q: string, options: Options): Promise<PaletteItem[]> {
  const { items } = await api.listAgents({}, options);
  const named = items.map(({ id, model }) => ({ id, name: id, model }));
  return fitting(q, named).map(({ id, model }) => thing('Agent', id, `/agents/${id}`, model, id));
}
