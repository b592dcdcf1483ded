import { join } from 'node:path'

/**
 * Compiled code is kept for the next test file, and for the threads and processes that tests start: each loads hundreds of
 * modules, and threads of the engine would else load Node's compiler of types too.
 */
export function setup(): void {
  process.env['NODE_COMPILE_CACHE'] ??= join(
    import.meta.dirname,
    '..',
    '..',
    'node_modules',
    '.cache',
    'gantry-test',
  )
}
