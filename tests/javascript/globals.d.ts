// What our components keep on the page for each other.
interface Window {
  vizTransformerSelection: unknown
  vizTransformerDetails: unknown
  vizTransformerPulsed?: boolean
}
declare var vizTransformerSelection: any
declare var vizTransformerDetails: any
interface History {
  completesAddress?: boolean
}
