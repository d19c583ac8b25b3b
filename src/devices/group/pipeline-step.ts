import { Lifetime } from '../../base/disposal.ts';
import type { BufferRange, Device, Step } from '../../device/index.ts';
import type { PipelineBuffer } from './pipeline-memory.ts';
import type { PipelineExecutable } from './pipeline-program.ts';

/** What one stage runs before another one's turn. */
interface StagePiece {
  readonly stage: number;
  readonly step: Step;
  /** What it reads and does not write before that. */
  readonly reads: readonly BufferRange[];
  readonly writes: readonly PipelineBuffer[];
}

/** A recorded step of a pipeline: a step of one stage after another. */
export class PipelineStep implements Step {
  readonly #lifetime: Lifetime;
  readonly #ended: (step: PipelineStep) => void;

  private constructor(
    readonly label: string,
    readonly pieces: readonly StagePiece[],
    ended: (step: PipelineStep) => void,
  ) {
    this.#ended = ended;
    this.#lifetime = new Lifetime(`step ${label}`);
  }

  /** Records what each stage runs before the next one's turn as one step of its device. */
  static async record(
    executables: readonly PipelineExecutable[],
    of: {
      readonly label: string;
      readonly stages: readonly Device[];
      readonly ended: (step: PipelineStep) => void;
    },
  ): Promise<PipelineStep> {
    const recording = stretchesOf(executables).map(async (stretch): Promise<StagePiece> => {
      const [{ stage }] = stretch;
      const device = of.stages[stage] as Device;
      const own = stretch.map((executable) => executable.own);
      const step = await device.record(own, `${of.label} of stage ${stage}`);
      return { stage, step, ...valuesOf(stretch) };
    });
    const done = await Promise.allSettled(recording);
    const pieces = done.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
    const failed = done.find((one) => one.status === 'rejected');
    if (failed) {
      for (const { step } of pieces) step[Symbol.dispose]();
      throw failed.reason;
    }
    return new PipelineStep(of.label, pieces, of.ended);
  }

  /** Throws `DISPOSED` after disposal. */
  check(): void {
    this.#lifetime.check();
  }

  [Symbol.dispose](): void {
    if (!this.#lifetime.end()) return;
    for (const { step } of this.pieces) step[Symbol.dispose]();
    this.#ended(this);
  }
}

type Stretch = [PipelineExecutable, ...PipelineExecutable[]];

/** Consecutive executables of one stage. */
function stretchesOf(executables: readonly PipelineExecutable[]): Stretch[] {
  const stretches: Stretch[] = [];
  for (const executable of executables) {
    const last = stretches.at(-1);
    if (last?.[0].stage === executable.stage) last.push(executable);
    else stretches.push([executable]);
  }
  return stretches;
}

function valuesOf(stretch: Stretch): Pick<StagePiece, 'reads' | 'writes'> {
  const reads = new Map<string, BufferRange>();
  const writes = new Set<PipelineBuffer>();
  for (const executable of stretch) {
    for (const range of executable.reads) {
      const { buffer, offset, byteLength } = range;
      const isOwn = [...writes].some((written) => written === buffer);
      if (!isOwn) reads.set(`${buffer.label} ${offset} ${byteLength}`, range);
    }
    for (const buffer of executable.writes) writes.add(buffer);
  }
  return { reads: [...reads.values()], writes: [...writes] };
}
