// Each feature is left out in turn: the API and the command line have what the others bring, and
// nothing of it.
import { expect, test } from 'vitest';
import { openApiDocument } from '../src/api/openapi.ts';
import { listParts, listRoutes } from '../src/api/route-table.ts';
import { buildProgram } from '../src/cli/program.ts';
import { FEATURES } from '../src/features.ts';

const wordsOf = async (features: typeof FEATURES): Promise<string[]> => {
  const program = await buildProgram(features, () => undefined);
  return program.commands.flatMap((word) => [
    word.name(),
    ...word.commands.map((verb) => `${word.name()} ${verb.name()}`),
  ]);
};
const placesOf = async (features: typeof FEATURES): Promise<string[]> =>
  (await listRoutes(features)).map(({ method, path }) => `${method} ${path}`);

const kernelWords = await wordsOf([]);
const kernelPlaces = await placesOf([]);

test.each(FEATURES.map((feature) => [feature.name, feature] as const))(
  'without %s, the API and the command line have what the other features bring',
  async (_name, feature) => {
    const others = FEATURES.filter((one) => one !== feature);
    const own = await placesOf([feature]);
    const places = await placesOf(others);
    expect(places).toHaveLength((await placesOf(FEATURES)).length - (own.length - kernelPlaces.length));
    const paths = Object.keys(openApiDocument(await listRoutes(others))['paths'] as object);
    expect(new Set(paths)).toEqual(new Set(places.map((place) => place.split(' ')[1])));
    expect(await listParts(others)).toHaveLength(others.filter(({ api }) => api !== undefined).length);
    const added = (await wordsOf([feature])).filter((word) => !kernelWords.includes(word));
    expect(await wordsOf(others)).toEqual((await wordsOf(FEATURES)).filter((word) => !added.includes(word)));
  },
);

test('the kernel alone has words and routes', () => {
  expect(kernelWords).toEqual(expect.arrayContaining(['start', 'send', 'sessions list', 'turns show']));
  expect(kernelPlaces).toEqual(expect.arrayContaining(['POST /v1/sessions/{key}/messages', 'GET /readyz']));
});
