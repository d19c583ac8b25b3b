/**
 * Dawn asks its driver what is done by `setImmediate`, a hundred thousand times a second and with a new function each time: as long
 * as software computes or compiles, that takes as much of a processor as the computing itself. Imported, this module lets it
 * ask once a millisecond; everybody else's `setImmediate` is as it was.
 */
const immediately = globalThis.setImmediate;

/** Native code without a name: what Dawn makes. */
function isDawns(callback: (...args: never) => void): boolean {
  return callback.name === '' && Function.prototype.toString.call(callback).includes('[native code]');
}

const paced = (callback: (...args: unknown[]) => void, ...args: unknown[]) =>
  args.length === 0 && isDawns(callback) ? setTimeout(callback, 1) : immediately(callback, ...args);

globalThis.setImmediate = Object.assign(paced, immediately) as typeof setImmediate;
