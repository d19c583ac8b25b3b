import { entry } from './entry.ts';

/** Failures of graphs and of the devices that run them. */
export const deviceErrors = {
  GRAPH_SHAPE: entry<{ graph: string; op: number; expected: string }>(
    500,
    'An operator was recorded with operands that do not match.',
    'Check the model file: its dimensions contradict each other.',
    (p) => `graph ${p.graph}, operator ${p.op}: expected that ${p.expected}`,
  ),
  OP_UNSUPPORTED: entry<{ device: string; op: string; why: string }>(
    501,
    'The device has no kernel for an operator.',
    'Run the model on another device (--device cpu).',
    (p) => `device ${p.device} cannot run ${p.op}: ${p.why}`,
  ),
  OUT_OF_MEMORY: entry<{ device: string; what: string; bytes: number; free: number }>(
    507,
    'The device has too little free memory.',
    'Use a smaller context, a smaller model or a stronger quantization, or close other programs that use the memory.',
    (p) => `device ${p.device}: ${p.what} needs ${p.bytes} bytes, ${p.free} are free`,
  ),
  BINDING: entry<{ graph: string; value: string; found: string; expected: string }>(
    500,
    'A compiled graph was bound to missing or wrong memory.',
    'This is a bug in the caller of Program.bind.',
    (p) => `graph ${p.graph}, ${p.value}: found ${p.found}, expected ${p.expected}`,
  ),
  DEVICE_LOST: entry<{ device: string; why: string }>(
    503,
    'The device stopped working.',
    'Open the device again; if it keeps failing, check the cause.',
    (p) => `device ${p.device} was lost: ${p.why}`,
  ),
  DEVICE_NOT_RESTORED: entry<{ device: string; attempts: number; why: string }>(
    503,
    'The device was lost, and repeated attempts to restore it failed.',
    'Try again. If it keeps failing, check the cause and the driver’s messages in the system log, use a smaller --batch, or run on ' +
      'another device (--device cpu).',
    (p) => `device ${p.device} was lost, and ${p.attempts} attempts to restore it failed: ${p.why}`,
  ),
  DEVICE_UNAVAILABLE: entry<{ device: string; why: string }>(
    503,
    'The device could not be opened.',
    'Run `rocmforge devices` to see which devices this machine has.',
    (p) => `device ${p.device} is not available: ${p.why}`,
  ),
  REMOTE_REFUSED: entry<{ address: string; why: string }>(
    503,
    'A process of another host, or another one of this host, and this one do not agree to work together.',
    'Start both with the same version of rocmforge and the same secret, and one model for each `rocmforge worker`.',
    (p) => `no connection with ${p.address}: ${p.why}`,
  ),
} as const;
