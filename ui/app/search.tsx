import { Button, Kbd, Modal, Text } from '@mantine/core'
import { useDisclosure, useHotkeys } from '@mantine/hooks'
import { lazy, Suspense, useState } from 'react'

const Hits = lazy(() => import('./hits.tsx'))

const shortcut = /Mac|iPhone|iPad/.test(navigator.userAgent) ? '⌘K' : 'Ctrl+K'

/** Search over pages, objects and actions: ⌘K or Ctrl+K. */
export function Search() {
  const [isOpen, { open, close }] = useDisclosure()
  // Whoever goes elsewhere does not come back to where the search was opened.
  const [isLeaving, setLeaving] = useState(false)
  const begin = () => {
    setLeaving(false)
    open()
  }
  useHotkeys([['mod+K', begin]], [])
  return (
    <>
      <Button variant="default" size="xs" onClick={begin} aria-label="Search">
        Search{' '}
        <Kbd ml="xs" size="xs" visibleFrom="sm">
          {shortcut}
        </Kbd>
      </Button>
      <Modal opened={isOpen} onClose={close} returnFocus={!isLeaving} title="Search" size="lg" yOffset="10vh">
        <Suspense fallback={<Text>Loading…</Text>}>
          <Hits
            onDone={() => {
              setLeaving(true)
              close()
            }}
          />
        </Suspense>
      </Modal>
    </>
  )
}
