// What the parts of a run share: the server, the model and the floor, which are brought up once, and how thorough the run is.
import { openFloor, type Floor } from '../floor/measure-floor.ts';
import type { BarLine } from './bar.ts';
import { openBenchPlace, type BenchPlace } from './bench-place.ts';
import { startBenchService, type BenchService, type ServiceOptions } from './bench-service.ts';
import { startModelProcess, type ModelProcess } from './model-process.ts';

export interface BenchContext {
  /** Fewer turns and rounds: shows that everything works, and roughly where it stands. */
  isQuick: boolean;
  place: BenchPlace;
  model: ModelProcess;
  floor: Floor;
  startService(options?: Pick<ServiceOptions, 'redisUrl' | 'settings'>): Promise<BenchService>;
  /** Says what goes on, for whoever waits. */
  say(text: string): void;
  close(): Promise<void>;
  /** Ends everything at once, in the middle of a part. */
  abandon(): Promise<void>;
}

export interface BenchPart {
  letter: string;
  title: string;
  run(context: BenchContext): Promise<BarLine[]>;
}

/** Brings up what the parts share. */
export async function openBenchContext(options: {
  isQuick: boolean;
  say: (text: string) => void;
}): Promise<BenchContext> {
  const place = await openBenchPlace();
  const model = await startModelProcess();
  const floor = await openFloor(place.floorUrl, model.url);
  const services: BenchService[] = [];
  let isAbandoned = false;
  return {
    ...options,
    place,
    model,
    floor,
    async startService(more = {}) {
      if (isAbandoned) throw new Error('the run was abandoned');
      const service = await startBenchService({ place, modelUrl: model.url, ...more });
      services.push(service);
      return service;
    },
    async abandon() {
      isAbandoned = true;
      // The server stops when the last of its users has gone.
      for (const service of services) await service.kill();
      await place.close();
    },
    async close() {
      await floor.close();
      model.stop();
      await place.close();
    },
  };
}

/** A service for as long as the work takes. */
export async function withService<Result>(
  context: BenchContext,
  options: Pick<ServiceOptions, 'redisUrl' | 'settings'>,
  work: (service: BenchService) => Promise<Result>,
): Promise<Result> {
  const service = await context.startService(options);
  try {
    return await work(service);
  } finally {
    await service.stop();
  }
}
