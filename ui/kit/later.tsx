import { type ReactNode, useDeferredValue } from 'react'

/** What stands below the first look at a page: drawn after it, in pieces, between which the page answers. */
export function Later({ children }: { readonly children: ReactNode }) {
  const isLater = useDeferredValue(true, false)
  return isLater ? children : null
}
