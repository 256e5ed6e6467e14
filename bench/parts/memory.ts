// (f) Memory of the service without PostgreSQL: idle, and the highest while 200 turns run at once,
// several times over.
import type { BarLine } from '../rig/bar.ts';
import { withService, type BenchContext, type BenchPart } from '../rig/bench-context.ts';
import { memoryOfTree, peakMemory, type TreeMemory } from '../rig/process-memory.ts';
import { slowTurnText } from '../rig/prompts.ts';

export const memory: BenchPart = { letter: 'f', title: 'memory', run };

const load = { sessions: 200, turnsEach: 1, text: slowTurnText(800) };

async function run(context: BenchContext): Promise<BarLine[]> {
  const rounds = context.isQuick ? 2 : 4;
  return await withService(context, {}, async (service) => {
    const idle = memoryOfTree(service.pid);
    context.say('200 turns at once, looking at the memory');
    const { peak } = await peakMemory(service.pid, async () => {
      for (let round = 1; round <= rounds; round += 1) await service.run(load);
    });
    return [lineOf('memory, idle', idle), lineOf('memory, 200 turns at once', peak)];
  });
}

function lineOf(what: string, { megabytes, parts }: TreeMemory): BarLine {
  const line = { part: 'f', what, floor: '', unit: ' MB', bar: 250, sense: 'atMost' as const };
  return megabytes > 0
    ? { ...line, holdfast: parts.join(' + '), measured: megabytes }
    : { ...line, holdfast: 'this system has no /proc', measured: null };
}
