// What the tab of the browser is called, so that several open ones can be told apart.
const ID = /^[\da-f]{8}-[\da-f-]{21}([\da-f]{6})$/i;
const THINGS: Readonly<Record<string, string>> = {
  agents: 'Agent',
  turns: 'Turn',
  sessions: 'Session',
  batches: 'Batch',
  crons: 'Cron',
  evaluations: 'Evaluation',
};

/** The title of a page: what it shows, where, and of which program. */
export function pageTitle(name: string, environment: string | null | undefined): string {
  return [name, environment ?? [], 'Holdfast'].flat().join(' · ');
}

/** What a path shows: the name of its screen, or the kind of a thing and which one. */
export function nameOfPath(path: string, screens: readonly { to: string; name: string }[]): string {
  const [first = '', encoded, view] = path.split('/').slice(1);
  const screen = screens.find(({ to }) => to === `/${first}`)?.name;
  const thing = THINGS[first];
  if (thing === undefined || encoded === undefined) return screen ?? 'Not found';
  const id = decoded(encoded);
  const name = `${thing} ${ID.exec(id)?.[1] ?? id}`;
  return view === 'family' ? `Family of ${name.charAt(0).toLowerCase()}${name.slice(1)}` : name;
}

/** With a capital letter at the beginning. */
export function capitalised(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
