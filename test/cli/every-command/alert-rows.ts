// Commands about alert destinations.
import type { CommandRow } from './command-row.ts';
import type { Names, Scene } from './scene.ts';

export const ALERT_ROWS: readonly CommandRow[] = [
  {
    line: 'alerts add {name} {receiver}',
    make: (scene) => Promise.resolve(namesOf(scene)),
    shows: [/^whsec_\S+\s*$/m],
    notes: ['holdfast alerts test {name}'],
    json: { name: '{name}', secret: /^whsec_/ },
  },
  { line: 'alerts list', make: added, shows: ['NAME', '{name}'], json: { items: [{ name: '{name}' }] } },
  {
    line: 'alerts test {name}',
    make: added,
    shows: ['{name} has acknowledged the alert (HTTP 200)'],
    json: { isAcknowledged: true, status: 200 },
  },
  {
    line: 'alerts remove {name}',
    make: added,
    shows: ['the alert destination {name} is removed'],
    json: {},
  },
];

function namesOf(scene: Scene): Names {
  return { name: scene.fresh('alerted'), receiver: scene.env['HTTP_EFFECT_URL'] ?? '' };
}

/** A destination of its own. */
async function added(scene: Scene): Promise<Names> {
  const names = namesOf(scene);
  await scene.ask('POST', '/v1/alert-destinations', { name: names['name'], url: names['receiver'] });
  return names;
}
