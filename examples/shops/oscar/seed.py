"""Makes the tables of the shop, one product, two vouchers and fifty customers."""

from datetime import datetime, timedelta, timezone
from decimal import Decimal

import django
from django.core.management import call_command

django.setup()
call_command("migrate", verbosity=0)

from django.contrib.auth.hashers import make_password  # noqa: E402
from django.contrib.auth.models import User  # noqa: E402
from oscar.core.loading import get_model  # noqa: E402


def create(app, model, /, **fields):
    return get_model(app, model).objects.create(**fields)


lamps = create("catalogue", "ProductClass", name="lamps", requires_shipping=False, track_stock=True)
lamp = create("catalogue", "Product", title="lamp", slug="lamp", product_class=lamps)
create("partner", "StockRecord", product=lamp, partner=create("partner", "Partner", name="maker"), partner_sku="lamp",
       price=Decimal("100.00"), num_in_stock=1_000_000)

everything = create("offer", "Range", name="everything", includes_all_products=True)
begin = datetime.now(timezone.utc) - timedelta(days=1)
for code, usage in {"SINGLE": "Single use", "ONCE": "Once per customer"}.items():
    condition = create("offer", "Condition", range=everything, type="Count", value=1)
    benefit = create("offer", "Benefit", range=everything, type="Percentage", value=50)
    offer = create("offer", "ConditionalOffer", name=code, offer_type="Voucher", condition=condition, benefit=benefit)
    voucher = create("voucher", "Voucher", name=code, code=code, usage=usage, start_datetime=begin,
                     end_datetime=begin + timedelta(days=365))
    voucher.offers.add(offer)

password = make_password("secret")
User.objects.bulk_create(User(username=f"user{i}", email=f"user{i}@example.com", password=password)
                         for i in range(1, 51))
