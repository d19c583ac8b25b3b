import type { DriverName } from '../node/driver-libraries.ts';
import { COMMANDS } from './commands/index.ts';

/** The drivers that `auto` tries, all started at once here: first the one whose library loads fastest. */
const DRIVERS: readonly DriverName[] = ['cuda', 'hip'];

/** Options that are handled without any device. */
const ASKING: readonly string[] = ['-h', '--help', '-V', '--version'];

/**
 * Starts the drivers that the command line will try, if any, before the rest of the code is loaded: that takes half as
 * long as starting a driver, which needs none of our threads. Any failure is found again, and reported, by the command
 * that opens the device.
 */
export async function startDriverAhead(argv: readonly string[]): Promise<void> {
  const names = driversFor(argv);
  if (names.length === 0) return;
  const [{ loadKoffiFfi }, { startDriver }] = await Promise.all([
    import('../node/koffi-ffi.ts'),
    import('../node/driver-libraries.ts'),
  ]);
  const ffi = await loadKoffiFfi().catch(() => undefined);
  if (ffi) for (const name of names) startDriver(ffi, name).catch(() => {});
}

/** The drivers that a command line, as `runProgram` takes it, will try. */
export function driversFor(argv: readonly string[]): readonly DriverName[] {
  const named = argv.map((word) => COMMANDS.find(({ name }) => name === word));
  const command = named.find((found) => found !== undefined);
  if (!command?.opensDevice || argv.some((word) => ASKING.includes(word))) return [];
  const device = deviceIn(argv) ?? (process.env.ROCMFORGE_DEVICE || 'auto');
  return device === 'auto' ? DRIVERS : DRIVERS.filter((name) => name === device.split(':')[0]);
}

/** The value of the last `-d` or `--device`, in any of the four spellings. */
function deviceIn(argv: readonly string[]): string | undefined {
  let device: string | undefined;
  for (const [index, word] of argv.entries()) {
    if (word === '-d' || word === '--device') device = argv[index + 1];
    else device = /^(?:--device=|-d)(.+)$/.exec(word)?.[1] ?? device;
  }
  return device;
}
