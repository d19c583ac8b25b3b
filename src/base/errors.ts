export { CATALOGUE, type ErrorCode, type ParamsOf } from './errors/catalogue.ts';
export {
  fail,
  invariant,
  isRocmforgeError,
  RocmforgeError,
  throwIfAborted,
} from './errors/rocmforge-error.ts';
