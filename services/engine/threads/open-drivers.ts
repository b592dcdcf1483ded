import type { FilesystemSpec } from '../../../subjects/filesystems/kinds.ts'
import type { StoreBounds } from '../../drivers/contract/bounds.ts'
import { openDriver, type Driver, type Side } from '../../drivers/index.ts'

/** Drivers kept open in one thread; more only while that many are in use at once. */
const maxIdleDrivers = 16

interface OpenDriver {
  readonly driver: Promise<Driver>
  users: number
}

/** The drivers of a thread: one for each filesystem and side, opened at its first use, the longest unused closed when they are many. */
export class OpenDrivers {
  /** In the order of last use. */
  readonly #drivers = new Map<string, OpenDriver>()
  readonly #bounds: StoreBounds | undefined

  /** @param bounds where filesystems may be; without them anywhere */
  constructor(bounds?: StoreBounds) {
    this.#bounds = bounds
  }

  /** Runs work with the driver of a filesystem. Throws what `openDriver` and the work throw. */
  async use<T>(spec: FilesystemSpec, side: Side, work: (driver: Driver) => Promise<T>): Promise<T> {
    const key = JSON.stringify([side, spec])
    const open = this.#drivers.get(key) ?? { driver: openDriver(spec, side, this.#bounds), users: 0 }
    this.#drivers.delete(key)
    this.#drivers.set(key, open)
    open.users++
    try {
      const driver = await this.#opened(key, open)
      driver.requirePlace?.()
      return await work(driver)
    } finally {
      open.users--
      await this.#closeUnused()
    }
  }

  /** One that could not be opened is forgotten, so that the next user tries again. */
  async #opened(key: string, open: OpenDriver): Promise<Driver> {
    try {
      return await open.driver
    } catch (error) {
      if (this.#drivers.get(key) === open) this.#drivers.delete(key)
      throw error
    }
  }

  async #closeUnused(): Promise<void> {
    for (const [key, { driver, users }] of this.#drivers) {
      if (this.#drivers.size <= maxIdleDrivers) return
      if (users > 0) continue
      this.#drivers.delete(key)
      await (await driver).close()
    }
  }
}
