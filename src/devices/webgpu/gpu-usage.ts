/** The bits of `GPUBufferUsage` and `GPUMapMode`, which are globals in browsers only. */
export const BUFFER_USAGE = {
  mapRead: 0x0001,
  mapWrite: 0x0002,
  copySource: 0x0004,
  copyTarget: 0x0008,
  uniform: 0x0040,
  storage: 0x0080,
  queryResolve: 0x0200,
} as const;

/** The bits of `GPUMapMode`. */
export const MAP_MODE = { read: 1, write: 2 } as const;

/** `GPUShaderStage.COMPUTE`. */
export const COMPUTE_STAGE = 4;
