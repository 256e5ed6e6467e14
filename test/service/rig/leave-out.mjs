// Loaded before the service by `node --import`: removes the lines of features from src/features.ts,
// as a person would who does not want them.
import { registerHooks } from 'node:module';

const names = (process.env.TEST_LEAVES_OUT ?? '').split(',').filter(Boolean);

registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context);
    if (!url.endsWith('/src/features.ts')) return loaded;
    const lines = new TextDecoder().decode(loaded.source).split('\n');
    const source = lines.filter((line) => !names.includes(/^ {2}(\w+),$/.exec(line)?.[1] ?? '')).join('\n');
    if (lines.length - source.split('\n').length !== names.length) throw new Error(`not all listed: ${names.join()}`);
    return { ...loaded, source };
  },
});
