// What our components keep on the page for each other.
interface Window {
  vizTransformerSelection: unknown
  vizTransformerDetails: unknown
  vizTransformerAhead: unknown
  vizTransformerEarly: unknown
  vizTransformerTour: unknown
  vizTransformerTogether: unknown
  vizTransformerPulsed?: boolean
}
declare var vizTransformerSelection: any
declare var vizTransformerDetails: any
declare var vizTransformerAhead: any
declare var vizTransformerEarly: any
declare var vizTransformerTour: any
declare var vizTransformerTogether: any
interface History {
  completesAddress?: boolean
}
