import { useDisclosure } from '@mantine/hooks'
import { useState } from 'react'
import { flushSync } from 'react-dom'

/**
 * A dialog that is not there before it is opened: a page may have a dozen, each as much work as a table. It is there, closed,
 * just before it opens, so that it knows where the focus was.
 */
export function useDialog() {
  const [isThere, setThere] = useState(false)
  const [isOpen, { open, close }] = useDisclosure()
  return {
    isThere,
    isOpen,
    /** Called by an event of the page. */
    open: () => {
      flushSync(() => setThere(true))
      open()
    },
    close,
  }
}
