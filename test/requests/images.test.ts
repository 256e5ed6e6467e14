// Goal: the model is shown the images that a prompt names, from the allowed folders only and no
// larger than it takes, in later turns as well, until they have been looked at; what is not shown
// is named. Method: image files made here, and the requests that the model server received.
import { describe, expect, test } from 'vitest';
import { png, widthOfPng } from './rig/png.ts';
import type { Block, ReceivedRequest } from './rig/received-request.ts';
import { useService } from './rig/use-service.ts';

const holder = useService({
  config: {
    agents: { list: [{ id: 'main' }, { id: 'blind', model: 'anthropic/claude-instant-1' }] },
  },
});

function imagesOf(content: readonly Block[] | undefined): string[] {
  return (content ?? []).flatMap((block) =>
    block.type === 'image' ? [(block['source'] as { data: string }).data] : [],
  );
}

function promptOf(request: ReceivedRequest): Block[] {
  return request.messages.at(-1)?.content ?? [];
}

describe('an image that a prompt names', () => {
  test('as a file of the message follows its text', async () => {
    const { service } = holder;
    const image = png(2, 2, 10);
    const path = service.writeFile('photo.png', image);
    const media = [{ path, type: 'image/png' }];
    const { request } = await service.say(service.newSession(), { text: 'look', media });
    expect(promptOf(request).map(({ type }) => type)).toEqual(['text', 'image']);
    expect(imagesOf(promptOf(request))).toEqual([image.toString('base64')]);
    expect(request.prompt).toContain(`[media attached: ${path} (image/png)]`);
  });

  test.each([
    ['by its path', (path: string) => `see ${path}`],
    ['relatively', () => 'see ./named.png please'],
    ['as a file URL', (path: string) => `see file://${path}`],
  ])('%s is shown, once however often it is named', async (_how, textOf) => {
    const { service } = holder;
    const image = png(2, 2, 20);
    const text = textOf(service.writeFile('named.png', image));
    const { request } = await service.say(service.newSession(), `${text} and ${text}`);
    expect(imagesOf(promptOf(request))).toEqual([image.toString('base64')]);
  });

  test('is made smaller when it is too large', async () => {
    const { service } = holder;
    const path = service.writeFile('wide.png', png(3000, 10, 30));
    const { request } = await service.say(service.newSession(), `see ${path}`);
    const [shown = ''] = imagesOf(promptOf(request));
    expect(widthOfPng(shown)).toBe(1200);
  });

  test.each([
    ['outside of the allowed folders', '/etc/secret.png'],
    ['that is not there', './gone.png'],
    ['that is none', './text.png'],
  ])('%s is not shown, and the prompt says so', async (_what, path) => {
    const { service } = holder;
    service.writeFile('text.png', 'only text');
    const { request } = await service.say(service.newSession(), `see ${path}`);
    expect(imagesOf(promptOf(request))).toEqual([]);
    expect(request.prompt).toContain(`[image not shown: ${path}: `);
  });

  test('on the network is not loaded', async () => {
    const { service } = holder;
    const { request } = await service.say(service.newSession(), `see ${service.rig.model.url}/x.png`);
    expect(imagesOf(promptOf(request))).toEqual([]);
    expect(service.rig.model.requests.every(({ path }) => !path.includes('x.png'))).toBe(true);
  });

  test('is not sent to a model that takes none', async () => {
    const { service } = holder;
    service.writeFile('../workspace-blind/blind.png', png(2, 2, 40));
    const { request } = await service.say('agent:blind:x', 'see ./blind.png');
    expect(JSON.stringify(request.messages)).not.toContain('"image"');
  });
});

test('images stay in the history for three turns, also when their files change; then a note replaces them', async () => {
  const { service } = holder;
  const session = service.newSession();
  const image = png(2, 2, 50);
  service.writeFile('kept.png', image);
  await service.say(session, 'see ./kept.png');
  service.writeFile('kept.png', png(2, 2, 60));
  const later: ReceivedRequest[] = [];
  for (let n = 1; n <= 4; n += 1) later.push((await service.say(session, `turn ${n}`)).request);
  const shown = later.map(({ messages }) => imagesOf(messages[0]?.content));
  expect(shown).toEqual([[image.toString('base64')], [image.toString('base64')], [image.toString('base64')], []]);
  expect(later[3]?.messages[0]?.content.at(-1)).toMatchObject({
    text: '[image data removed - already processed by model]',
  });
});
