import { uiPath } from '../../subjects/kit/names.ts'

/** In the storage of the tab: where somebody was, or was led to by a link, who has to sign in first. */
const item = 'place'

const isOurs = (place: string): boolean => place.startsWith(`${uiPath}/`)

/** Has this page opened again after the next sign-in in this tab. */
export function rememberPlace(): void {
  const place = `${location.pathname}${location.search}`
  if (isOurs(place)) sessionStorage.setItem(item, place)
}

/** Makes the remembered page the one that is opened, once. Called before the router reads the address, by somebody signed in. */
export function returnToPlace(): void {
  const place = sessionStorage.getItem(item)
  sessionStorage.removeItem(item)
  // Whoever goes somewhere else by himself has another page in mind.
  if (place !== null && isOurs(place) && location.pathname === uiPath) history.replaceState(null, '', place)
}
