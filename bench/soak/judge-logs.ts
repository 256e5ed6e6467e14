// How a process logs an outage. Lines about single turns at level info are not counted: they are
// written without an outage, too.
import type { Check } from './checks.ts';
import type { Outage } from './outages.ts';
import type { LoggedProcess, Stage } from './stage.ts';

const linesMax = 50;
const warnLevel = 40;

/** For each outage: the lines of each process from its start to the start of the next one. */
export function judgeLogs(stage: Stage, outages: readonly Outage[]): Check[] {
  return outages.map((outage, index) => {
    const from = outage.beganAt ?? 0;
    const until = outages[index + 1]?.beganAt ?? Number.POSITIVE_INFINITY;
    const stories = stage.processes.map((process) => ({ name: process.name, lines: storyOf(process, from, until) }));
    return {
      what: `outage ${index + 1}, ${outage.name}: less than ${linesMax} lines per process`,
      count: Math.max(...stories.map(({ lines }) => lines.length)),
      faults: stories
        .filter(({ lines }) => lines.length >= linesMax)
        .map(({ name, lines }) => `${name} wrote ${lines.length} lines: ${mostFrequent(lines)}`),
    };
  });
}

/**
 * The messages of lines that are warnings or worse, or mention a dependency; lines that are not
 * JSON, such as a stack trace, count too.
 */
function storyOf({ lines }: LoggedProcess, from: number, until: number): string[] {
  return lines.flatMap(({ at, text }) => {
    if (at < from || at >= until || text === '') return [];
    const line = parse(text);
    if (line === null) return [text];
    const isOfStory = line.level >= warnLevel || line.dependency !== undefined;
    return isOfStory ? [[line.msg ?? text, line.code].filter(Boolean).join(': ')] : [];
  });
}

function parse(text: string): { level: number; msg?: string; code?: string; dependency?: string } | null {
  if (!text.startsWith('{')) return null;
  try {
    return JSON.parse(text) as { level: number };
  } catch {
    return null;
  }
}

function mostFrequent(messages: readonly string[]): string {
  return [...Map.groupBy(messages, (message) => message)]
    .toSorted(([, a], [, b]) => b.length - a.length)
    .slice(0, 3)
    .map(([message, all]) => `${all.length} x "${message.slice(0, 80)}"`)
    .join(', ');
}
