// What a plugin adds to the system prompt of every turn, checked: a prefix among the stable sections, a suffix among those that
// change, and its own wording of three sections.
import { withoutBoundary } from '../prompt/cache-boundary.ts';
import type { OverridableSection, PromptContribution } from '../prompt/system-input.ts';
import { PluginValueError, readObject, readText } from './plugin-text.ts';

const SECTIONS: Readonly<Record<OverridableSection, true>> = {
  interaction_style: true,
  tool_call_style: true,
  execution_bias: true,
};

/** Checks the value that a plugin registered. Throws `PluginValueError`. */
export function readPromptContribution(value: unknown): PromptContribution {
  const { stablePrefix, dynamicSuffix, sectionOverrides = {} } = readObject(value, '');
  const prefix = readText(stablePrefix, 'stablePrefix');
  const suffix = readText(dynamicSuffix, 'dynamicSuffix');
  return {
    ...(prefix === null ? {} : { stablePrefix: withoutBoundary(prefix) }),
    ...(suffix === null ? {} : { dynamicSuffix: withoutBoundary(suffix) }),
    sectionOverrides: readOverrides(sectionOverrides),
  };
}

function readOverrides(value: unknown): NonNullable<PromptContribution['sectionOverrides']> {
  const entries = Object.entries(readObject(value, 'sectionOverrides')).flatMap(([name, wording]) => {
    const path = `sectionOverrides.${name}`;
    if (!Object.hasOwn(SECTIONS, name)) {
      throw new PluginValueError(path, `must be one of ${Object.keys(SECTIONS).join(', ')}`);
    }
    const text = readText(wording, path);
    return text === null ? [] : [[name, withoutBoundary(text)] as const];
  });
  return Object.fromEntries(entries);
}
