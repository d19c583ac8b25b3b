/**
 * Dawn polls its driver through `setImmediate`, a hundred thousand times per second and with a new function each time:
 * while software computes or compiles, that takes as much CPU as the computation itself. When imported, this module
 * limits it to one poll per millisecond; other callers' `setImmediate` is unchanged.
 */
const immediately = globalThis.setImmediate;

/** Unnamed native functions: Dawn's. */
function isDawns(callback: (...args: never) => void): boolean {
  return callback.name === '' && Function.prototype.toString.call(callback).includes('[native code]');
}

const paced = (callback: (...args: unknown[]) => void, ...args: unknown[]) =>
  args.length === 0 && isDawns(callback) ? setTimeout(callback, 1) : immediately(callback, ...args);

globalThis.setImmediate = Object.assign(paced, immediately) as typeof setImmediate;
