// What our components keep on the page for each other.
interface Window {
  vizTransformerSelection: unknown
  vizTransformerPulsed?: boolean
}
declare var vizTransformerSelection: any
interface History {
  completesAddress?: boolean
}
