// The shared parts of a run: the server, the model and the floor, which are started once, and how
// thorough the run is.
import { migrate } from '../../src/database/migrate.ts';
import { migrateQueue } from '../../workers/queue/migrate-queue.ts';
import { openFloor, type Floor } from '../floor/measure-floor.ts';
import type { BarLine } from './bar.ts';
import { openBenchPlace, type BenchPlace } from './bench-place.ts';
import { startBenchService, type BenchService, type ServiceOptions } from './bench-service.ts';
import { startModelProcess, type ModelProcess } from './model-process.ts';

export interface BenchContext {
  /** Fewer turns and rounds: shows that everything works, with rough figures. */
  isQuick: boolean;
  place: BenchPlace;
  model: ModelProcess;
  floor: Floor;
  /** Starts another server, for an older commit. */
  openPlace(): Promise<BenchPlace>;
  startService(options?: StartOptions): Promise<BenchService>;
  /** Prints what happens now. */
  say(text: string): void;
  close(): Promise<void>;
  /** Ends everything immediately, in the middle of a part. */
  abandon(): Promise<void>;
}

/** Absent: this checkout, on the place of the run. */
export type StartOptions = Partial<Omit<ServiceOptions, 'modelUrl'>>;

export interface BenchPart {
  letter: string;
  title: string;
  run(context: BenchContext): Promise<BarLine[]>;
}

/** Starts the shared parts. */
export async function openBenchContext(options: {
  isQuick: boolean;
  say: (text: string) => void;
}): Promise<BenchContext> {
  const place = await openBenchPlace();
  // Histories are put into this database before its first service starts.
  await migrate(place.databaseUrl);
  await migrateQueue(place.databaseUrl);
  const places = [place];
  const model = await startModelProcess();
  const floor = await openFloor(place.floorUrl, model.url);
  const services: BenchService[] = [];
  const closeAll = async (): Promise<void> => {
    for (const each of places) await each.close();
  };
  let isAbandoned = false;
  return {
    ...options,
    place,
    model,
    floor,
    async openPlace() {
      const opened = await openBenchPlace();
      places.push(opened);
      return opened;
    },
    async startService(more = {}) {
      if (isAbandoned) throw new Error('the run was abandoned');
      const service = await startBenchService({ place, modelUrl: model.url, ...more });
      services.push(service);
      return service;
    },
    async abandon() {
      isAbandoned = true;
      // The server stops when the last of its users has exited.
      for (const service of services) await service.kill();
      await closeAll();
    },
    async close() {
      await floor.close();
      model.stop();
      await closeAll();
    },
  };
}

/** A service for the duration of the work. */
export async function withService<Result>(
  context: BenchContext,
  options: StartOptions,
  work: (service: BenchService) => Promise<Result>,
): Promise<Result> {
  const service = await context.startService(options);
  try {
    return await work(service);
  } finally {
    await service.stop();
  }
}
