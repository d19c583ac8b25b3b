import { alignUp } from '../base/bytes.ts';
import { importKoffi, natively } from './native-loading.ts';

/** A multiple of all page sizes below large ones (64 KiB on some ARM machines). */
const ALIGNMENT = 64 << 10;

/** Of Linux. */
const MADV_HUGEPAGE = 14;

/** Asks for large pages behind memory that has not been written yet. */
export type LargePages = (bytes: Uint8Array) => void;

/**
 * Advice to Linux, through koffi; undefined on other systems, and without koffi. Weights are read from one end to the other for every
 * token, and with pages of 4 KiB a quarter of that time goes to translating addresses. Many systems give large pages to those alone who
 * ask. Where there are none, nothing happens.
 */
export async function loadLargePages(): Promise<LargePages | undefined> {
  if (process.platform !== 'linux') return undefined;
  const loaded = await importKoffi().catch(() => undefined);
  if (!loaded) return undefined;
  const { default: koffi } = loaded;
  const madvise: (address: number, length: number, advice: number) => number = natively(() =>
    koffi.load(null).func('int madvise(uintptr_t, size_t, int)'),
  );
  return (bytes) => {
    const address = Number(natively(() => koffi.address(bytes)));
    // Outwards, so that neighbours meet: a large page that two share is one only if both are advised.
    const start = Math.floor(address / ALIGNMENT) * ALIGNMENT;
    madvise(start, alignUp(address + bytes.byteLength - start, ALIGNMENT), MADV_HUGEPAGE);
  };
}
