import type { Device, Step } from '../../device/index.ts';
import { allRecorded } from './member-objects.ts';
import { MultiDeviceStep } from './multi-device-step.ts';
import type { PipelineBuffer } from './pipeline-memory.ts';
import type { PipelineExecutable, StageRead } from './pipeline-program.ts';

/** What one stage runs before another one's turn. */
interface StagePiece {
  readonly stage: number;
  readonly step: Step;
  /** What it reads and does not write before that. */
  readonly reads: readonly StageRead[];
  readonly writes: readonly PipelineBuffer[];
}

/** A recorded step of a pipeline: a step of one stage after another. */
export class PipelineStep extends MultiDeviceStep<StagePiece> {
  /** Records what each stage runs before the next one's turn as one step of its device. */
  static async record(
    executables: readonly PipelineExecutable[],
    of: {
      readonly label: string;
      readonly stages: readonly Device[];
      readonly ended: (step: Step) => void;
    },
  ): Promise<PipelineStep> {
    const { label, stages, ended } = of;
    const recording = stretchesOf(executables).map(async (stretch): Promise<StagePiece> => {
      const [{ stage }] = stretch;
      const device = stages[stage] as Device;
      const own = stretch.map((executable) => executable.own);
      const step = await device.record(own, `${label} of stage ${stage}`);
      return { stage, step, ...valuesOf(stretch) };
    });
    const pieces = await allRecorded(recording, disposePiece);
    return new PipelineStep({ label, pieces, disposePiece, ended });
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
  const reads = new Map<string, StageRead>();
  const writes = new Set<PipelineBuffer>();
  for (const executable of stretch) {
    for (const read of executable.reads) {
      const { buffer, offset, byteLength } = read.range;
      const isOwn = [...writes].some((written) => written === buffer);
      const { counts } = read;
      const key = `${buffer.label} ${offset} ${byteLength} ${counts.buffer.label} ${counts.offset}`;
      if (!isOwn) reads.set(key, read);
    }
    for (const buffer of executable.writes) writes.add(buffer);
  }
  return { reads: [...reads.values()], writes: [...writes] };
}

function disposePiece({ step }: StagePiece): void {
  step[Symbol.dispose]();
}
