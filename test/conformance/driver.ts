import { afterAll, beforeAll, describe } from 'vitest'
import { testUnless } from '../support/unless.ts'
import type { Driver } from '../../services/drivers/contract/driver.ts'
import { attributesAreKept } from './driver-attributes.ts'
import { linksAreKept } from './driver-links.ts'
import { foldersAreListed } from './driver-listing.ts'
import { missingRootsAreTold } from './driver-missing.ts'
import { namesAreKept } from './driver-names.ts'
import { attributesAreSet, entriesAreRemoved } from './driver-changes.ts'
import { filesAreRead } from './driver-reading.ts'
import { uploadsAreWhole } from './driver-uploads.ts'
import { type Suite, testFolder } from './driver-store.ts'
import { filesAreWritten } from './driver-writing.ts'

/** A store under test. The suite works in folders of its own and leaves them there. */
export interface StoreUnderTest extends AsyncDisposable {
  /** A new driver on the same root, as another process would have it; the suite closes it. */
  openDriver(): Driver
  /** A driver on a root that does not exist; not there where each store of the kind has one. */
  openMissing?(): Driver
  /** Now and then the answer to a request does not come, although it took effect. */
  readonly losesAnswers?: boolean
  /** A name that people have, and that stores of this kind do not take. */
  readonly refusedName?: string
}

/**
 * What `services/drivers/contract/driver.ts` promises of every driver, on a real store. A driver's own test file calls this and
 * then tests what is special about its store.
 * @param missingHere why there is no such store on this machine
 * @param alwaysRooted why no store of the kind can be without its root
 */
export function driverConformance(
  name: string,
  startStore: () => Promise<StoreUnderTest>,
  missingHere?: string,
  alwaysRooted?: string,
): void {
  if (missingHere !== undefined) return testUnless(missingHere, `${name} is a driver`, () => undefined)
  describe(`${name} is a driver`, () => {
    let store: StoreUnderTest
    let driver: Driver
    let missing: Driver | undefined
    let folders = 0
    beforeAll(async () => {
      store = await startStore()
      driver = store.openDriver()
      missing = store.openMissing?.()
    })
    afterAll(async () => {
      await driver.close()
      await missing?.close()
      await store[Symbol.asyncDispose]()
    })
    const suite: Suite = {
      driver: () => driver,
      losesAnswers: () => store.losesAnswers ?? false,
      refusedName: () => store.refusedName,
      missing: () => missing!,
      another: () => disposable(store.openDriver()),
      folder: () => testFolder(driver, `test ${++folders}`),
    }
    for (const part of [
      foldersAreListed,
      filesAreRead,
      filesAreWritten,
      uploadsAreWhole,
      namesAreKept,
      linksAreKept,
      attributesAreKept,
      entriesAreRemoved,
      attributesAreSet,
    ]) {
      part(suite)
    }
    if (alwaysRooted === undefined) missingRootsAreTold(suite)
    else testUnless(alwaysRooted, 'without its root a store is gone', () => undefined)
  })
}

const disposable = (driver: Driver) => Object.assign(driver, { [Symbol.asyncDispose]: () => driver.close() })
