// Which models are shown images. Nearly all take them, so those that do not are the ones that are named.

/** False when one of the patterns (`provider/model`, with `*` for any characters) names the model. */
export function acceptsImages(model: string, textOnlyModels: readonly string[]): boolean {
  return !textOnlyModels.some((pattern) => matches(model, pattern));
}

function matches(model: string, pattern: string): boolean {
  const [head = '', ...pieces] = pattern.split('*');
  if (pieces.length === 0) return model === pattern;
  const tail = pieces.pop() ?? '';
  if (!model.startsWith(head) || model.length < head.length + tail.length || !model.endsWith(tail)) return false;
  let rest = model.slice(head.length, model.length - tail.length);
  return pieces.every((piece) => {
    const at = rest.indexOf(piece);
    rest = rest.slice(at + piece.length);
    return at !== -1;
  });
}
