import { extensions } from '../../subjects/extensions/extensions.ts'
import { useAll } from './calls.ts'

/** Extensions come and leave; no event says so. */
const askEveryMs = 30_000

/** What the extensions that one sees bring. */
export const useFeatures = () =>
  useAll(extensions.features, ({ prefix }) => prefix, { everyMs: askEveryMs }).data ?? []
