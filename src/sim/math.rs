//! Transcendental functions through `libm`: the platform's own differ in their last bits.
//! (`+ - * /`, `sqrt`, `floor`, `ceil`, `round` agree everywhere and need no wrapper.)

pub fn ln(x: f64) -> f64 {
    libm::log(x)
}
pub fn exp(x: f64) -> f64 {
    libm::exp(x)
}
pub fn pow(x: f64, y: f64) -> f64 {
    libm::pow(x, y)
}
pub fn sin(x: f64) -> f64 {
    libm::sin(x)
}
pub fn cos(x: f64) -> f64 {
    libm::cos(x)
}
